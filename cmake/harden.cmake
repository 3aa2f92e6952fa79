# Hardening of what a release build makes: the usual flags of distributions, each where the
# compiler and the linker know it. MCDS_HARDEN=OFF leaves them out.
include(CheckCCompilerFlag)
include(CheckPIESupported)

add_library(mcds_harden INTERFACE)
if(NOT MCDS_HARDEN)
    return()
endif()

# Sets VARIABLE to whether compiler and linker take FLAG; sets nothing up when the answer is no.
function(mcds_harden_compile FLAG)
    string(MAKE_C_IDENTIFIER "MCDS_HAS${FLAG}" known)
    check_c_compiler_flag("-Werror ${FLAG}" ${known})
    if(${known})
        target_compile_options(mcds_harden INTERFACE ${FLAG})
    endif()
endfunction()

function(mcds_harden_link FLAG)
    string(MAKE_C_IDENTIFIER "MCDS_HAS${FLAG}" known)
    check_linker_flag(C "${FLAG}" ${known})
    if(${known})
        target_link_options(mcds_harden INTERFACE ${FLAG})
    endif()
endfunction()

mcds_harden_compile(-fstack-protector-strong)
mcds_harden_compile(-fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    # The shadow stack. Landing pads for indirect branches, which no Linux asks of programs, would be
    # two instructions of each hundred.
    mcds_harden_compile(-fcf-protection=return)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    mcds_harden_compile(-mbranch-protection=standard)
endif()
mcds_harden_link(-Wl,-z,relro)
mcds_harden_link(-Wl,-z,now)
mcds_harden_link(-Wl,-z,noexecstack)

# The checks of the C library need an optimiser, and the sanitizers have better ones.
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
    target_compile_options(mcds_harden INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
endif()

# Build position-independent executables. The address sanitizer adds so many addresses to a program
# that relocating them would take a third of the time of a short command.
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=address")
    check_pie_supported(LANGUAGES C)
endif()
