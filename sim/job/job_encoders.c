/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of pictures and of sound before the language model: on the ranks of the embedding, as Megatron-LM (pretrain_vlm.py,
 * examples/multimodal) and Megatron-Bridge (models/qwen_vl, qwen_omni) build them. */
#include "base/base.h"
#include "job/job_internal.h"

/* What the two encoders are called, in their order. */
static const struct {
    const char *flag, *of, *config, *freeze, *recompute;
} names[SS_ENCODERS] = {
    [SS_VISION] = {"--images", "pictures", "vision_config", "--freeze-ViT", "--recompute-vision"},
    [SS_AUDIO] = {"--audio-seconds", "sound", "audio_config", "--freeze-sound-model", "--recompute-sound"},
};

/* Drops an encoder of a job that gives it nothing, and says so where everyone reads it. */
static void leave_out(struct ss_model *m, int which, int told, struct ss_encoder *e)
{
    size_t n = strlen(m->not_priced);

    snprintf(m->not_priced + n, sizeof m->not_priced - n, "%s\"%s\" (%s %s)", n ? ", " : "",
             names[which].config, names[which].flag, told ? "0" : "is not given: text alone");
    memset(e, 0, sizeof *e);
}

/* Completes an encoder of which a sequence has so many pictures or seconds, -1: not told. */
static int complete(struct ss_finish *f, struct ss_model *m, int which, int many, int frozen, int *recompute)
{
    struct ss_encoder *e = which == SS_AUDIO ? &m->audio : &m->vision;
    int asked = *recompute;

    if (e->num_layers == 0 && many > 0)
        REFUSE(f, names[which].flag,
               "take a model whose config.json has an encoder that is modelled, or drop the flag",
               "%s has no encoder of %s that is modelled", m->name, names[which].of);
    if (e->num_layers > 0 && many <= 0)
        leave_out(m, which, many == 0, e);
    /* Megatron-Bridge's settings do not reach modules of Hugging Face */
    *recompute |= f->stack->encoder_recompute > 0 && !e->undivided;
    *recompute &= e->num_layers > 0 && !frozen && f->job->recompute.granularity == SS_RECOMPUTE_FULL;
    if (asked && !*recompute)
        ss_note(f->notes, "%s is not active without %s for a trained encoder and full recompute",
                names[which].recompute, names[which].of);
    if (e->num_layers == 0 && frozen)
        ss_note(f->notes, "%s is not active without %s", names[which].freeze, names[which].flag);
    return SS_OK;
}

int ss_job_complete_encoders(struct ss_finish *f, struct ss_model *m)
{
    struct ss_job *job = f->job;
    int rc = complete(f, m, SS_VISION, job->vision.images, job->vision.frozen, &job->vision.recompute);

    SS_THEN(rc, complete(f, m, SS_AUDIO, job->audio.seconds, job->audio.frozen, &job->audio.recompute));
    if (!rc && m->vision.num_layers == 0 && (job->vision.height || job->vision.width))
        ss_note(f->notes, "--img-h and --img-w are not active without --images");
    if (!job->vision.height)
        job->vision.height = job->vision.width ? job->vision.width : m->vision.image_size;
    if (!job->vision.width)
        job->vision.width = job->vision.height;
    return rc;
}

/* Refuses pictures that the encoder cannot take. */
static int check_pictures(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_encoder *e = &job->model.vision;
    int height = job->vision.height, width = job->vision.width, unit = e->patch_size * e->merge_size;

    if (e->num_layers == 0)
        return SS_OK;
    if (!height)
        REFUSE(f, "--img-h --img-w", "add --img-h N --img-w N",
               "the encoder of %s takes pictures of any size: how many pixels have they?", job->model.name);
    if (e->image_size > 0 && (height != e->image_size || width != e->image_size))
        REFUSE(f, "--img-h --img-w", "count tiles of a larger picture as pictures",
               "the encoder of %s takes pictures, or tiles of them, of %d x %d pixels", job->model.name,
               e->image_size, e->image_size);
    if (!e->image_size && (height % unit || width % unit))
        REFUSE(f, "--img-h --img-w", "take the size to which the processor rounds it",
               "a picture of %d x %d pixels is not made of squares of %d pixels, a token each", height, width,
               unit);
    return SS_OK;
}

/* Refuses tensor ranks that do not divide an encoder. */
static int check_ranks(struct ss_finish *f, const struct ss_encoder *e)
{
    int tp = f->job->tp;

    if (e->num_layers == 0 || e->undivided)
        return SS_OK;
    if (e->num_heads % tp)
        REFUSE(f, "--tp", "take a --tp that divides the encoder's heads",
               "the encoder's %d attention heads are not divisible by tensor parallel size %d", e->num_heads,
               tp);
    if (e->ffn_hidden_size % tp)
        REFUSE(f, "--tp", "take a --tp that divides them",
               "the encoder's %d columns of an MLP are not divisible by tensor parallel size %d",
               e->ffn_hidden_size, tp);
    return SS_OK;
}

int ss_job_check_encoders(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    double tokens = 0;

    if (!ss_job_encodes(job))
        return SS_OK;
    if (!strncmp(f->stack->name, "nanotron", 8))
        REFUSE(f, "--images --audio-seconds", "take another --stack, or the text alone",
               "nanotron has no models of pictures or sound");
    int rc = check_pictures(f);
    for (int which = 0; which < SS_ENCODERS && !rc; which++) {
        const struct ss_encoder *e = ss_model_encoder(&job->model, which);
        const struct ss_media media = ss_job_media(job, which);
        rc = check_ranks(f, e);
        tokens += e->num_layers > 0 ? media.items * media.tokens / (e->merge_size * e->merge_size) : 0;
    }
    if (!rc && tokens > job->seq_length)
        REFUSE(f, "--images --audio-seconds --seq-length", "take fewer of them, or a longer sequence",
               "pictures and sound have %.0f tokens, a sequence has %d", tokens, job->seq_length);
    return rc;
}
