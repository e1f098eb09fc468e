# SPDX-License-Identifier: Apache-2.0
# Libraries of others as static ones (SS_STATIC_LIBRARIES): each target of pkg-config links the archive in place of the shared
# library. What their objects call and no command of stepsim reaches is answered by cmake/static/unused.c.
add_library(ss_unused STATIC cmake/static/unused.c)
target_link_libraries(ss_unused PRIVATE ss_flags)
foreach(library IN ITEMS LIBXML2:xml2 HWLOC:hwloc JANSSON:jansson ZLIB:z YAML:yaml CMINPACK:cminpack MICROHTTPD:microhttpd)
    string(REPLACE ":" ";" library ${library})
    list(GET library 0 prefix)
    list(GET library 1 name)
    if(TARGET PkgConfig::${prefix})
        find_library(ss_static_${name} NAMES lib${name}.a PATHS ${CMAKE_BINARY_DIR}/libraries REQUIRED) # cmake/static/cminpack.sh
        set_property(TARGET PkgConfig::${prefix} PROPERTY INTERFACE_LINK_LIBRARIES ${ss_static_${name}} ss_unused)
    endif()
endforeach()
