/* SPDX-License-Identifier: Apache-2.0 */
/* An encoder of pictures before the language model: on the ranks of the embedding, as Megatron-LM (pretrain_vlm.py, examples/multimodal)
 * and Megatron-Bridge (models/qwen_vl) build it. Stages of its own are those of Megatron core 0.9 to 0.12 alone. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"

/* Drops the encoder of a job without pictures, and says so where everyone reads it. */
static int leave_out(struct ss_finish *f, struct ss_model *m)
{
    const char *why = f->job->vision.images < 0 ? "\"vision_config\" (--images is not given: text alone)"
                                                : "\"vision_config\" (--images 0: text alone)";
    size_t n = strlen(m->not_priced);

    snprintf(m->not_priced + n, sizeof m->not_priced - n, "%s%s", n ? ", " : "", why);
    memset(&m->vision, 0, sizeof m->vision);
    if (f->job->vision.frozen || f->job->vision.recompute || f->job->vision.height || f->job->vision.width)
        ss_note(f->notes, "flags of pictures are not active without --images");
    return SS_OK;
}

int ss_job_complete_vision(struct ss_finish *f, struct ss_model *m)
{
    struct ss_job *job = f->job;
    const struct ss_encoder *e = &m->vision;

    if (e->num_layers == 0 && job->vision.images > 0)
        REFUSE(f, "--images",
               "take a model whose config.json has an encoder that is modelled, or drop --images",
               "%s has no encoder of pictures that is modelled", m->name);
    if (e->num_layers == 0)
        return SS_OK;
    if (job->vision.images <= 0)
        return leave_out(f, m);
    if (!job->vision.height)
        job->vision.height = job->vision.width ? job->vision.width : e->image_size;
    if (!job->vision.width)
        job->vision.width = job->vision.height;
    /* Megatron-Bridge's settings do not reach modules of Hugging Face */
    job->vision.recompute |= f->stack->encoder_recompute > 0 && !e->undivided;
    job->vision.recompute &= job->recompute.granularity == SS_RECOMPUTE_FULL;
    return SS_OK;
}

/* Refuses pictures that the encoder cannot take. */
static int check_pictures(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_encoder *e = &job->model.vision;
    int height = job->vision.height, width = job->vision.width, unit = e->patch_size * e->merge_size;

    if (!height)
        REFUSE(f, "--images", "give --img-h and --img-w",
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

int ss_job_check_vision(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_encoder *e = &job->model.vision;

    if (e->num_layers == 0)
        return SS_OK;
    if (!strncmp(f->stack->name, "nanotron", 8))
        REFUSE(f, "--images", "take another --stack, or --images 0", "nanotron has no models of pictures");
    int rc = check_pictures(f);
    if (rc)
        return rc;
    int64_t tokens = (int64_t)job->vision.images * ss_job_patches(job) / (e->merge_size * e->merge_size);
    if (tokens > job->seq_length)
        REFUSE(f, "--images --seq-length", "take fewer pictures, or a longer sequence",
               "%d pictures have %lld tokens, a sequence has %d", job->vision.images, (long long)tokens,
               job->seq_length);
    if (!e->undivided && e->num_heads % job->tp)
        REFUSE(f, "--tp", "take a --tp that divides the encoder's heads",
               "the encoder's %d attention heads are not divisible by tensor parallel size %d", e->num_heads,
               job->tp);
    if (!e->undivided && e->ffn_hidden_size % job->tp)
        REFUSE(f, "--tp", "take a --tp that divides them",
               "the encoder's %d columns of an MLP are not divisible by tensor parallel size %d",
               e->ffn_hidden_size, job->tp);
    return SS_OK;
}
