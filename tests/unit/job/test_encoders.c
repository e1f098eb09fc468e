/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with encoders of pictures and sound: what is refused, and what is said where pictures are not told. */
#include "base/base.h"
#include "job_helper.h"
#include "suite.h"

#define COMMON " --bf16 --mbs 1 --gbs 64 --seq 4096 "
#define QWEN "--model qwen3-vl-8b" COMMON
#define INTERN "--model internvl3-8b" COMMON

TEST(refused)
{
    static const struct job_refusal rows[] = {
        {"--model qwen3-8b" COMMON "--images 1 --img-h 448", "has no encoder of pictures that is modelled"},
        {QWEN "--images 1", "takes pictures of any size: how many pixels have they?"},
        {QWEN "--images 1 --img-h 450 --img-w 448", "not made of squares of 32 pixels"},
        {QWEN "--images 5 --img-h 1024", "have 5120 tokens, a sequence has 4096"},
        {QWEN "--images 1 --img-h 448 --tp 32 --sequence-parallel", NULL},
        {INTERN "--images 1 --img-h 896", "tiles of them, of 448 x 448 pixels"},
        {"--model llama4-scout" COMMON "--images 1 --img-w 448", "tiles of them, of 336 x 336 pixels"},
        {QWEN "--images 1 --img-h 448 --stack nanotron-2025", "nanotron has no models of pictures"},
        {QWEN "--audio-seconds 10", "has no encoder of sound that is modelled"},
        {"--model qwen3-omni-30b-a3b" COMMON "--audio-seconds 400", "have 5200 tokens, a sequence has 4096"},
        {"--model qwen3-omni-30b-a3b" COMMON
         "--audio-seconds 4 --num-query-groups 8 --tp 8 --sequence-parallel",
         "encoder's 20 attention heads"},
        {QWEN "--freeze-LM", "a frozen language model is not modelled"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        if (rows[i].reason)
            check_refusals(&rows[i], 1, 64);
}

/* The text alone, which the line of what is not priced says; or an encoder with pictures of its own size, or of a square. */
TEST(told)
{
    static const struct {
        const char *flags, *not_priced;
        int layers, height, width, patches;
    } rows[] = {
        {QWEN, "\"vision_config\" (--images is not given: text alone)", 0, 0, 0, 0},
        {QWEN "--images 0", "\"vision_config\" (--images 0)", 0, 0, 0, 0},
        {"--model qwen3-omni-30b-a3b" COMMON "--images 4 --img-h 512",
         "\"audio_config\" (--audio-seconds is not given: text alone)", 27, 512, 512, 32 * 32},
        {QWEN "--images 4 --img-h 512", "", 27, 512, 512, 32 * 32},
        {QWEN "--images 4 --img-h 512 --img-w 768 --freeze-ViT", "", 27, 512, 768, 32 * 48},
        {INTERN "--images 12", "", 24, 448, 448, 32 * 32},
        {"--model llama4-scout" COMMON "--images 16", "", 34, 336, 336, 24 * 24},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        struct ss_job job;
        CU_ASSERT_EQUAL(complete(&job, rows[i].flags, 16, NULL, &err), SS_OK);
        if (err.code)
            fprintf(stderr, "%s: %s\n", rows[i].flags, err.message);
        CU_ASSERT_EQUAL(job.model.vision.num_layers, rows[i].layers);
        CU_ASSERT_STRING_EQUAL(job.model.not_priced, rows[i].not_priced);
        CU_ASSERT(job.vision.height == rows[i].height && job.vision.width == rows[i].width);
        CU_ASSERT_EQUAL(ss_job_media(&job, SS_VISION).tokens, rows[i].patches);
    }
}

/* Layers are recomputed where the language model's are, and Megatron-LM is asked to. */
TEST(recompute)
{
    static const struct {
        const char *flags;
        int recompute;
        const char *note;
    } rows[] = {
        {"--recompute-vision", 0, "--recompute-vision is not active"},
        {"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", 0, NULL},
        {"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
         "--recompute-vision",
         1, NULL},
        {"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
         "--recompute-vision --freeze-ViT",
         0, "--recompute-vision is not active"},
        {"--stack megatron-bridge-26.08 --recompute-granularity full --recompute-method uniform "
         "--recompute-num-layers 1",
         1, NULL},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_error err = {0};
        struct ss_job job;
        char flags[512];
        snprintf(flags, sizeof flags, "%s--images 1 --img-h 512 %s", QWEN, rows[i].flags);
        struct ss_notes notes = {0};
        CU_ASSERT_EQUAL(complete(&job, flags, 16, &notes, &err), SS_OK);
        CU_ASSERT_EQUAL(job.vision.recompute, rows[i].recompute);
        CU_ASSERT(!rows[i].note || has_note(&notes, rows[i].note));
        ss_notes_free(&notes);
    }
}
