/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/svg.h"

/* All that the page is made of. */
struct ss_page {
    const struct ss_program *program;
    const struct ss_timeline *timeline;
    const struct ss_run *run;                /* may be NULL */
    const struct ss_report_options *options; /* may be NULL */
    const struct ss_record_book *book;
    const struct ss_bins *bins;
    const struct ss_memory_extra *extra;
    int engine;
    FILE *out;
    struct ss_gantt *gantt;            /* for the card */
    const struct ss_card_steps *steps; /* NULL: no card */
    const char *memory_title;
    double width; /* px of its pictures; 0: their own */
};
int ss_html_page(const struct ss_page *page, struct ss_error *err);

/* ---- its parts ---- */
/* Returns 0 or SS_ERR_NOMEM. */
int ss_html_answer(const struct ss_page *page);
void ss_html_breakdown(const struct ss_page *page);
/* Writes what the kernels compute, and the heaviest kernels; nothing without run.compute. */
void ss_html_compute(const struct ss_page *page);
void ss_html_memory(const struct ss_page *page);
int ss_html_network(
    const struct ss_page *
        page); /* Closes the page and writes the numbers that the scripts draw, as gzipped JSON in base64. Returns 0 or
 * SS_ERR_NOMEM. */
int ss_html_data(const struct ss_page *page);
