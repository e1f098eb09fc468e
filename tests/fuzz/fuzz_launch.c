/* SPDX-License-Identifier: Apache-2.0 */
/* Any script, and any record of calls behind a zero byte, as a sandbox may send them: a job of its words, or a message. */
#include <stdlib.h>

#include "import/import.h"
#include "import/sandbox.h"
#include "job/job_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The words as those of a file, to the end: flags, what --without takes away, a job. */
static int parse(const struct ss_words *words, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_request r;
    struct ss_asked asked;

    ss_request_init(&r);
    int rc = ss_request_add_place(&r, "asked.job.sh", err);
    for (size_t i = 0; i < words->n && !rc; i++)
        rc = ss_request_add(&r, words->w[i].text, words->w[i].line, err);
    ss_asked_init(&asked);
    if (!rc)
        rc = ss_request_resolve(&r, notes, err);
    if (!rc)
        rc = ss_asked_parse(&asked, &r, notes, NULL, err);
    ss_request_free(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ss_launch launch = {.script = "job.sh"};
    struct ss_words words = {0};
    struct ss_notes notes = {0};
    struct ss_calls calls = {0};
    struct ss_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    size_t script = strlen(text);
    int rc = script < size ? ss_calls_take(&calls, text + script + 1, size - script - 1, &err) : 0;
    if (!rc)
        rc = ss_launch_words(&words, &launch, text, &calls, &notes, &err);
    if (!rc)
        rc = parse(&words, &notes, &err);
    if (rc && !err.message[0])
        abort();
    ss_words_free(&words);
    ss_calls_free(&calls);
    ss_notes_free(&notes);
    free(text);
    return 0;
}
