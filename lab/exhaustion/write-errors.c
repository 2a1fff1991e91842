// Has a program's writes or syncs of files fail with EIO, as on a disk that breaks, while the file named by WRITE_ERRORS holds a "w" or an "s".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(char kind) {
  const char *control = getenv("WRITE_ERRORS");
  char asked = 0;
  int file = control == NULL ? -1 : open(control, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, &asked, 1) != 1) asked = 0;
  close(file);
  if (asked != kind) return 0;
  errno = EIO;
  return 1;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  if (fails('w')) return -1;
  return REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t))(file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  if (fails('w')) return -1;
  return REAL("pwrite", ssize_t (*)(int, const void *, size_t, off_t))(file, bytes, count, at);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  if (fails('w')) return -1;
  return REAL("pwritev64", ssize_t (*)(int, const struct iovec *, int, off64_t))(file, parts, count, at);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  if (fails('w')) return -1;
  return REAL("pwritev", ssize_t (*)(int, const struct iovec *, int, off_t))(file, parts, count, at);
}

int fsync(int file) {
  if (fails('s')) return -1;
  return REAL("fsync", int (*)(int))(file);
}

int fdatasync(int file) {
  if (fails('s')) return -1;
  return REAL("fdatasync", int (*)(int))(file);
}
