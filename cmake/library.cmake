# The library, compiled once and linked twice: mcds::shared and mcds::static. mcds::mcds is the
# one that BUILD_SHARED_LIBS names; shared when it is not set.

pkg_check_modules(OPENSSL QUIET IMPORTED_TARGET GLOBAL openssl>=3.0)
option(MCDS_TLS "TLS to memcached, with the headers of OpenSSL 3; ON where they are found" ${OPENSSL_FOUND})
if(MCDS_TLS AND NOT OPENSSL_FOUND)
    list(APPEND MCDS_MISSING "openssl 3")
endif()
if(MCDS_MISSING)
    message(FATAL_ERROR "mcds: missing ${MCDS_MISSING}; tools/setup installs what the build needs")
endif()
pkg_check_modules(XXHASH REQUIRED libxxhash)

file(GLOB_RECURSE MCDS_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
# One of the two: OpenSSL, or none. Only its headers are used here: tls/load.c loads it.
if(MCDS_TLS)
    list(FILTER MCDS_SOURCES EXCLUDE REGEX "/tls/none[.]c$")
else()
    list(FILTER MCDS_SOURCES EXCLUDE REGEX "/tls/(context|load|stream|trouble)[.]c$")
endif()
add_library(mcds_objects OBJECT ${MCDS_SOURCES})
set_target_properties(mcds_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(mcds_objects PUBLIC ${PROJECT_SOURCE_DIR}/include
                                        PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(mcds_objects PRIVATE
    mcds_warnings mcds_harden PkgConfig::MCDS_LMDB PkgConfig::MCDS_LIBMD Threads::Threads)
# gcc clears a structure of more than 80 bytes by a string instruction, which a processor begins slowly.
# An operation clears four of them. Debug builds are read by tools that do not know the option.
set(MCDS_CLEAR "-mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign")
check_c_compiler_flag("-Werror ${MCDS_CLEAR}" MCDS_HAS_CLEAR)
if(MCDS_HAS_CLEAR)
    target_compile_options(mcds_objects PRIVATE $<$<NOT:$<CONFIG:Debug>>:${MCDS_CLEAR}>)
endif()
# Only the header is used: its functions are compiled in.
target_include_directories(mcds_objects SYSTEM PRIVATE ${XXHASH_INCLUDE_DIRS} ${OPENSSL_INCLUDE_DIRS})

foreach(kind SHARED STATIC)
    string(TOLOWER ${kind} name)
    add_library(mcds_${name} ${kind} $<TARGET_OBJECTS:mcds_objects>)
    add_library(mcds::${name} ALIAS mcds_${name})
    set_target_properties(mcds_${name} PROPERTIES
        OUTPUT_NAME mcds EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(mcds_${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(mcds_${name} PRIVATE
        $<BUILD_INTERFACE:mcds_harden> PkgConfig::MCDS_LMDB PkgConfig::MCDS_LIBMD
        Threads::Threads ${CMAKE_DL_LIBS} m)
endforeach()
if(NOT DEFINED BUILD_SHARED_LIBS OR BUILD_SHARED_LIBS)
    add_library(mcds::mcds ALIAS mcds_shared)
else()
    add_library(mcds::mcds ALIAS mcds_static)
endif()
# Many calls are of short functions in other files. So libmcds.so can be generated from all files together.
# libmcds.a keeps the code of each file: what the linker would generate anew depends on the compiler's version.
# gcc does not see that only an assertion excludes a null pointer, and warns.
if(MCDS_WHOLE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(mcds_objects PRIVATE -flto=auto -ffat-lto-objects)
    target_link_options(mcds_shared PRIVATE -flto=auto -Wno-stringop-overflow)
    add_custom_command(TARGET mcds_static POST_BUILD VERBATIM
        COMMAND ${CMAKE_OBJCOPY} -D -R .gnu.lto_* -R .gnu.debuglto_* $<TARGET_FILE:mcds_static>)
endif()

# A project that takes mcds in builds the one it links and nothing else.
if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(mcds_objects mcds_shared mcds_static PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# Hidden visibility keeps mcds__ names in; the script also versions what goes out.
set(MCDS_SYMBOLS ${PROJECT_SOURCE_DIR}/cmake/libmcds.map)
check_linker_flag(C "-Wl,--version-script=${MCDS_SYMBOLS}" MCDS_HAS_VERSION_SCRIPT)
if(MCDS_HAS_VERSION_SCRIPT)
    target_link_options(mcds_shared PRIVATE "LINKER:--version-script=${MCDS_SYMBOLS}")
    set_target_properties(mcds_shared PROPERTIES LINK_DEPENDS ${MCDS_SYMBOLS})
endif()
