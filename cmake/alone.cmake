# SPDX-License-Identifier: Apache-2.0
# The page without a server: a folder page/ of static files, of the library and sim/serve/alone.
target_compile_options(ss_flags INTERFACE -include ${CMAKE_SOURCE_DIR}/cmake/alone/missing.h -Wno-string-concatenation)
set(page ${CMAKE_BINARY_DIR}/page)
add_executable(stepsim-alone ${alone_source} cmake/alone/missing.c)
set_target_properties(stepsim-alone PROPERTIES OUTPUT_NAME stepsim RUNTIME_OUTPUT_DIRECTORY ${page} SUFFIX .js)
target_link_libraries(stepsim-alone PRIVATE stepsim ss_flags)
target_link_directories(stepsim-alone PRIVATE ${JANSSON_LIBRARY_DIRS}) # where cmake/alone/libraries.sh puts all of them
target_link_options(stepsim-alone PRIVATE -sMODULARIZE=1 -sEXPORT_NAME=stepsimModule -sENVIRONMENT=worker,node
    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=1MB -sEXPORTED_RUNTIME_METHODS=ccall
    -sEXPORTED_FUNCTIONS=_alone_argument,_alone_ask,_alone_type,_alone_body --no-entry)
file(GLOB scripts CONFIGURE_DEPENDS sim/serve/alone/*.js)
add_custom_command(OUTPUT ${page}/index.html
    COMMAND ${CMAKE_COMMAND} -E copy ${scripts} ${page}
    COMMAND node ${CMAKE_SOURCE_DIR}/cmake/alone/index.js ${page}
    DEPENDS stepsim-alone ${scripts} cmake/alone/index.js VERBATIM)
add_custom_target(page ALL DEPENDS ${page}/index.html)
