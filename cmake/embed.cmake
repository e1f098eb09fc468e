# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.c -DFOLDER=sim/report/html -DPREFIX=ss_page_ -DHEADER=report/html/parts.h "-DPARTS=a.css;b.js" -P embed.cmake
# Writes each file as a constant text: timeline.js becomes ss_page_timeline_js.
set(text "/* Made by cmake/embed.cmake from ${FOLDER}. */\n#include \"${HEADER}\"\n")
foreach(part IN LISTS PARTS)
    get_filename_component(name ${part} NAME)
    string(REGEX REPLACE "[^a-zA-Z0-9]" "_" name ${name})
    file(READ ${part} bytes HEX)
    # Lines of at most 24 bytes, for compilers and people.
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "((0x..,)(0x..,)?(0x..,)?(0x..,)?(0x..,)?(0x..,)?(0x..,)?(0x..,)?)" "\\1\n" bytes "${bytes}")
    string(APPEND text "const char ${PREFIX}${name}[] = {\n${bytes}0\n};\n")
endforeach()
file(WRITE ${OUT} "${text}")
