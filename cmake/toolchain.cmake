# Language, warnings, sanitizers, and what makes a program portable to another machine.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Checks (assert included) stay on; debug information costs build time, so only a sanitizer gets it.
if(INGOT_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")    # half the time to build of -O2
else()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Evaluators promise one rounding an operation, so nothing may contract a*b+c.
add_compile_options(-ffp-contract=off)

set(INGOT_WARNINGS -Wall -Wextra)
if(INGOT_WERROR)
  list(APPEND INGOT_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 reports -Wrestrict falsely for `"literal" + std::string` (GCC bug 105651).
  list(APPEND INGOT_WARNINGS -Wno-restrict)
endif()

if(INGOT_SANITIZE)
  add_compile_options(-fsanitize=${INGOT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${INGOT_SANITIZE})
  # Instrumented code at -O2 makes GCC 12 see uninitialized values that are not there.
  list(APPEND INGOT_WARNINGS -Wno-maybe-uninitialized)
else()
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

# build/ can be carried to another machine: libraries lie in build/lib. RPATH, not RUNPATH, because
# it also serves the libraries that those libraries need.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib:$ORIGIN/../lib:$ORIGIN/../../lib")
add_link_options(-Wl,--disable-new-dtags -Wl,--exclude-libs,ALL)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)
