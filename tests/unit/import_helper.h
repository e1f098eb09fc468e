/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign configurations and the words that are expected of them. */
#ifndef TESTS_UNIT_IMPORT_HELPER_H
#define TESTS_UNIT_IMPORT_HELPER_H

#include <CUnit/Basic.h>
#include <stdio.h>
#include <string.h>

#include "stepsim/import.h"

struct import_row {
    const char *file;  /* below tests/import */
    const char *words; /* with blanks between */
    const char *notes; /* what one of the notes, or of what was ignored, says; NULL: any */
};

/* Returns 1 when one of the notes has the text. */
static inline int has_note(const struct ss_request *r, const char *text)
{
    for (unsigned long i = 0; i < r->notes.n; i++)
        if (strstr(r->notes.text[i], text))
            return 1;
    for (unsigned long i = 0; i < r->ignored.n; i++)
        if (strstr(r->ignored.text[i], text))
            return 1;
    return 0;
}

/* Reads the file as --job does, and compares its words. */
static inline void check_import(const struct import_row *row)
{
    char job[] = "--job", path[512], text[4096];
    char *const argv[] = {job, path};
    struct ss_request r;
    struct ss_error err = {0};

    snprintf(path, sizeof path, SS_SOURCE_DIR "/tests/import/%s", row->file);
    ss_request_init(&r);
    if (ss_request_read(&r, 2, argv, &err))
        printf("%s:%d: %s\n", err.file, err.line, err.message);
    CU_ASSERT_EQUAL(err.code, SS_OK);
    ss_request_text(&r, 0, text, sizeof text);
    if (strcmp(text, row->words) != 0)
        printf("\n%s\n  is   %s\n  not  %s\n", row->file, text, row->words);
    CU_ASSERT_STRING_EQUAL(text, row->words);
    if (row->notes && !has_note(&r, row->notes))
        printf("\n%s: no note says \"%s\"\n", row->file, row->notes);
    CU_ASSERT_TRUE(!row->notes || has_note(&r, row->notes));
    ss_request_free(&r);
}

struct text_row {
    const char *text;  /* of the file */
    const char *words; /* with blanks between */
};

/* Reads the text as a file of that name, and compares its words. */
static inline void check_text(const struct text_row *row, const char *name)
{
    char text[4096];
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    if (ss_request_read_text(&r, row->text, strlen(row->text), name, &err))
        printf("%s:%d: %s\n", err.file, err.line, err.message);
    CU_ASSERT_EQUAL(err.code, SS_OK);
    ss_request_text(&r, 0, text, sizeof text);
    if (strcmp(text, row->words) != 0)
        printf("\n%s\n  is   %s\n  not  %s\n", row->text, text, row->words);
    CU_ASSERT_STRING_EQUAL(text, row->words);
    ss_request_free(&r);
}

struct refused_row {
    const char *text; /* of the file */
    int code, line;
    const char *message;
};

/* Reads the text as a file of that name; it must fail there. */
static inline void check_refused(const struct refused_row *row, const char *name)
{
    struct ss_request r;
    struct ss_error err = {0};

    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, row->text, strlen(row->text), name, &err), row->code);
    CU_ASSERT_EQUAL(err.line, row->line);
    CU_ASSERT_STRING_EQUAL(err.file, name);
    if (!strstr(err.message, row->message))
        printf("\n%s\n  %s:%d: %s\n", row->text, err.file, err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, row->message));
    ss_request_free(&r);
}

#endif
