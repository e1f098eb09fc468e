/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that the build makes of the files in this folder (cmake/embed.cmake). */
#pragma once

extern const char ss_page_ground_css[];
extern const char ss_page_style_css[];
extern const char ss_page_data_js[];
extern const char ss_page_timeline_js[];
extern const char ss_page_charts_js[];
