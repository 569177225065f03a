# Compiler, flags and sanitizers, in one place.
option(SALLYPORT_TESTS "Build the tests" ON)
set(SALLYPORT_SANITIZE "" CACHE STRING "address,undefined | thread | empty")
option(SALLYPORT_FUZZ "Build the libFuzzer targets" OFF)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "GCC ${CMAKE_CXX_COMPILER_VERSION} miscompiles coroutines (double frees). Use clang++-19: cmake --preset dev")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Build folders of different names, and clones in different places, share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE_PROGRAM})
endif()

add_library(sallyport_options INTERFACE)
target_include_directories(sallyport_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(sallyport_options INTERFACE SALLYPORT_VERSION="${PROJECT_VERSION}")
target_compile_options(sallyport_options INTERFACE -Wall -Wextra -Werror -Wnon-virtual-dtor -Woverloaded-virtual -Wshadow-uncaptured-local
  -Wno-missing-field-initializers -Wno-missing-designated-field-initializers)  # members have defaults
target_link_options(sallyport_options INTERFACE -fuse-ld=lld-19)

if(SALLYPORT_SANITIZE)
  add_compile_options(-fsanitize=${SALLYPORT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SALLYPORT_SANITIZE})
  if(SALLYPORT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=function,vptr)  # coroutines: "cannot represent a difference across sections"
    add_link_options(-fno-sanitize=function,vptr)
  endif()
endif()
if(SALLYPORT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
