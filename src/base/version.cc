#include "base/version.h"

namespace horae {

std::string_view version() { return HORAE_VERSION; }

}  // namespace horae
