/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for the user that are no errors. */
#ifndef STEPSIM_NOTES_H
#define STEPSIM_NOTES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Notes for the user, each once: accepted flags without effect, assumptions. */
struct ss_notes {
    char **text;
    unsigned long n, cap;
};
int ss_notes_add(struct ss_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ss_notes_free(struct ss_notes *notes);

#ifdef __cplusplus
}
#endif
#endif
