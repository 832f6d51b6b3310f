// Marks what the shared libraries export; all other symbols are hidden.
//   class L0GM_API CompactModel { … };
//   L0GM_API int version();
#pragma once

#if defined(__GNUC__)
#define L0GM_API __attribute__((visibility("default")))
#else
#define L0GM_API
#endif
