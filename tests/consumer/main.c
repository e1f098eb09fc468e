/* SPDX-License-Identifier: Apache-2.0 */
/* An outside program: only installed headers, only the installed library.
 * usage: consumer [PLATFORM]: prints a prop of a platform that came with the library. */
#include <stdio.h>
#include <string.h>

#include <stepsim/stepsim.h>

static int print_bandwidth(const char *platform)
{
    struct ss_platform_options options = {0};
    struct ss_platform *p = NULL;
    struct ss_error err = {0};
    char text[2048];
    if (ss_platform_load(platform, &options, &p, &err)) {
        puts(ss_error_format(&err, text, sizeof text));
        return 1;
    }
    printf("%.4g\n", ss_platform_card(p)->hbm_bandwidth);
    ss_platform_free(p);
    return 0;
}

int main(int argc, char **argv)
{
    struct ss_error err = {0};
    char text[1024];
    if (argc > 1)
        return print_bandwidth(argv[1]);
    if (ss_status_exit(SS_ERR_CONFIG) != 3 || strcmp(ss_label_name(SS_LABEL_DP), "dp"))
        return 1;
    err.code = SS_ERR_INPUT;
    err.line = 3;
    strcpy(err.file, "a.xml");
    strcpy(err.message, "bad");
    puts(ss_error_format(&err, text, sizeof text));
    return strcmp(text, "a.xml:3: error: bad") != 0;
}
