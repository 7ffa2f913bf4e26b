include(${CMAKE_CURRENT_LIST_DIR}/llapdiff-targets.cmake)
