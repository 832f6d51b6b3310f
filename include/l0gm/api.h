#pragma once

// What a shared library shows to those who link it; everything else of ours is hidden.
#if defined(__GNUC__)
#define L0GM_API __attribute__((visibility("default")))
#else
#define L0GM_API
#endif
