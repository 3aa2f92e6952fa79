/* Memory that must not be touched, where the address sanitizer watches. */
#ifndef FUZZ_POISON_H
#define FUZZ_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_IS_WATCHED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FUZZ_IS_WATCHED
#endif

#ifdef FUZZ_IS_WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, length) ((void)(at), (void)(length))
#define ASAN_UNPOISON_MEMORY_REGION(at, length) ((void)(at), (void)(length))
#endif

#endif
