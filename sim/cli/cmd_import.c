/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#define REFUSED 1 /* exit status: flags were refused */

/* Reads the words of the command line. A file without a flag before it is a job file. */
static int read_words(struct cli_flags *f, struct ss_error *err)
{
    char job[] = "--job";
    int file = f->n > 0 && f->words[0][0] != '-';
    char **words = calloc((size_t)f->n + 2, sizeof *words);

    if (!words)
        return SS_ERR_NOMEM;
    words[0] = job;
    memcpy(words + 1, f->words, (size_t)f->n * sizeof *words);
    int rc = cli_request_read(&f->request, NULL, f, f->n + file, words + !file, err);
    free(words);
    if (!rc && f->request.n == 0)
        rc = cli_usage(err, "give a file, --launch SCRIPT, or flags of a job", "nothing to import");
    return rc;
}

/* Keeps the words that count, and the notes about them. Where some words are refused, it keeps those that
 * were read. */
static int flatten(const struct ss_request *read, struct ss_request *r, struct ss_notes *assumed,
                   struct ss_error *err)
{
    SS_TRY(ss_request_copy(read, r, err));
    int rc = ss_request_resolve(r, &r->notes, err);
    int refused = !rc && ss_report_refused(r);
    if (rc || !refused)
        ss_request_free(r);
    if (!rc && !refused)
        rc = ss_request_flatten(read, r, err);
    if (rc)
        return rc;
    rc = ss_notes_add_all(assumed, &r->notes);
    if (!rc && !refused)
        rc = ss_job_check_words(r, assumed, err);
    if (rc)
        ss_request_free(r);
    return rc;
}

static int write(const struct ss_request *r, const struct ss_notes *assumed, const struct cli_flags *flags,
                 struct ss_error *err)
{
    int rc = SS_OK;

    CLI_WRITE(rc, flags->output, ss_report_request(r, assumed, flags->json, stream, err), err);
    return rc ? rc : ss_report_refused(r) ? REFUSED : SS_OK;
}

int cmd_import(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_request r;
    struct ss_notes assumed = {0};
    int rc = read_words(flags, err);

    SS_THEN(rc, flatten(&flags->request, &r, &assumed, err));
    if (!rc) {
        rc = write(&r, &assumed, flags, err);
        ss_request_free(&r);
    } else {
        ss_request_blame(&flags->request, err);
    }
    ss_notes_free(&assumed);
    return rc;
}
