# Files that the build writes into build/generated.

find_package(Python3 COMPONENTS Interpreter REQUIRED)
file(MAKE_DIRECTORY ${INGOT_GENERATED}/onnx)

# version.h: looked at in every build, written only when the commit changes.
set(write_version ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
                  -DOUTPUT=${INGOT_GENERATED}/version.h -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake)
execute_process(COMMAND ${write_version})
add_custom_target(ingot_version COMMAND ${write_version} BYPRODUCTS ${INGOT_GENERATED}/version.h
                  COMMENT "Looking at the version")

# library_text.cpp: the device library, src/device/**/*.inc, as text inside the binary.
file(GLOB_RECURSE device_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/*.inc)
set(INGOT_LIBRARY_TEXT ${INGOT_GENERATED}/library_text.cpp)
add_custom_command(
  OUTPUT ${INGOT_LIBRARY_TEXT}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/embed_text.py
          --root ${PROJECT_SOURCE_DIR}/src/device --output ${INGOT_LIBRARY_TEXT}
          --namespace device --header device/library_text.h ${device_texts}
  DEPENDS ${device_texts} tools/embed_text.py
  COMMENT "Embedding the device library")

# page_text.cpp: templates, styles and scripts of the HTML pages, src/html/assets/*.
file(GLOB page_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/html/assets/*)
set(INGOT_PAGE_TEXT ${INGOT_GENERATED}/page_text.cpp)
add_custom_command(
  OUTPUT ${INGOT_PAGE_TEXT}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/embed_text.py
          --root ${PROJECT_SOURCE_DIR}/src/html/assets --output ${INGOT_PAGE_TEXT}
          --namespace html --header html/page_text.h ${page_texts}
  DEPENDS ${page_texts} tools/embed_text.py
  COMMENT "Embedding the pages")

# device_functions.inc: the names of the library's functions, for op/apply.cpp.
set(device_functions ${PROJECT_SOURCE_DIR}/src/device/scalar_words.h ${device_texts})
list(FILTER device_functions EXCLUDE REGEX "/(cuda|vector|lanes)[a-z_]*\\.inc$")
set(INGOT_DEVICE_FUNCTIONS ${INGOT_GENERATED}/device_functions.inc)
add_custom_command(
  OUTPUT ${INGOT_DEVICE_FUNCTIONS}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/list_functions.py
          --output ${INGOT_DEVICE_FUNCTIONS} ${device_functions}
  DEPENDS ${device_functions} tools/list_functions.py
  COMMENT "Listing the device library's functions")

# onnx/onnx.pb.h and its code, from the system's description of the format.
find_path(INGOT_ONNX_PROTO_ROOT onnx/onnx.proto)
if(NOT INGOT_ONNX_PROTO_ROOT)
  message(FATAL_ERROR "onnx/onnx.proto is missing: apt-get install libonnx-dev (or scripts/install.sh)")
endif()
add_custom_command(
  OUTPUT ${INGOT_GENERATED}/onnx/onnx.pb.cc ${INGOT_GENERATED}/onnx/onnx.pb.h
  COMMAND ${INGOT_PROTOC} --proto_path=${INGOT_ONNX_PROTO_ROOT} --cpp_out=${INGOT_GENERATED}
          onnx/onnx.proto
  DEPENDS ${INGOT_ONNX_PROTO_ROOT}/onnx/onnx.proto
  COMMENT "Generating the ONNX reader")
add_library(ingot_onnx_proto STATIC ${INGOT_GENERATED}/onnx/onnx.pb.cc
                                    ${INGOT_GENERATED}/onnx/onnx.pb.h)
target_compile_options(ingot_onnx_proto PRIVATE -w)
target_include_directories(ingot_onnx_proto SYSTEM PUBLIC ${INGOT_GENERATED} ${INGOT_PROTOBUF_INCLUDE})
target_link_libraries(ingot_onnx_proto PUBLIC ${INGOT_PROTOBUF} Threads::Threads)
