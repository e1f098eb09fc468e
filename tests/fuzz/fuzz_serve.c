/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the words of a job in an address: refused with a message, or a job file that names no folder. */
#include <stdlib.h>
#include <string.h>

#include "serve/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ss_serve page; /* no first words, no bands: nothing is predicted */
    char *text = malloc(size + 1);
    struct ss_serve_argument argument = {"job", text};
    struct ss_serve_reply reply;
    if (!text || (!page.shelves && ss_shelves_new(&page.shelves, NULL)))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ss_serve_answer(&page, "/job.args", &argument, 1, &reply) || !reply.body || !reply.type)
        abort();
    if (reply.status == 200 && (memchr(reply.body, '/', reply.size) || memchr(reply.body, '\\', reply.size)))
        abort();
    if (reply.status != 200 && !strstr(reply.body, "\"message\""))
        abort();
    free(reply.body);
    free(text);
    return 0;
}
