# All from Debian 12 packages (scripts/packages.txt).
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(OpenSSL 3 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(QRENCODE REQUIRED IMPORTED_TARGET libqrencode)
add_library(qrencode ALIAS PkgConfig::QRENCODE)
add_library(pcre2 ALIAS PkgConfig::PCRE2)
add_library(utf8proc ALIAS PkgConfig::UTF8PROC)

# valijson calls abort() on faults unless exceptions are asked for.
add_library(valijson INTERFACE)
target_compile_definitions(valijson INTERFACE VALIJSON_USE_EXCEPTIONS=1)

# Asio and Beast are compiled once: instantiating them is most of a build's cost.
add_library(boost_impl STATIC cmake/boost_asio.cpp cmake/boost_beast.cpp)
target_compile_definitions(boost_impl PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE)
if(SALLYPORT_SANITIZE MATCHES "thread")
  target_compile_definitions(boost_impl PUBLIC BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
target_link_libraries(boost_impl PUBLIC Boost::headers OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
