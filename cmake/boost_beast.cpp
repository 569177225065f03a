// The one compilation of Beast.
#include <boost/beast/src.hpp>
