#include "data/fetch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "data/locate.h"
#include "l0gm/error.h"

#ifdef L0GM_HAS_CURL
#include <curl/curl.h>
#endif

namespace l0gm {
namespace {

namespace fs = std::filesystem;

std::string address_of(const CatalogueFile& file, const FetchOptions& options) {
  if (options.mirror.empty()) return file.address;
  return (options.mirror.ends_with('/') ? options.mirror : options.mirror + "/") + file.path;
}

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

// The hash that an earlier fetch of a file without a listed one recorded; empty when there was none.
std::string recorded_hash(const fs::path& path) {
  const fs::path record = with_suffix(path, ".sha256");
  std::error_code ignored;
  if (!fs::is_regular_file(record, ignored)) return {};
  const std::string text = read_file(record);
  const std::string hash(text.substr(0, 64));
  const bool digits =
      std::all_of(hash.begin(), hash.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (hash.size() != 64 || !digits) {
    throw UserError(fmt::format("{} does not start with a SHA-256 (64 hexadecimal digits). Delete it to fetch the file afresh.",
                                record.string()));
  }
  return hash;
}

#ifdef L0GM_HAS_CURL

// Shared by the callbacks of one transfer. Exceptions must not cross curl's C frames: they are stored here.
struct Transfer {
  AtomicFile& target;
  Sha256 digest;
  Progress& progress;
  int64_t received = 0;
  std::exception_ptr failure;
};

size_t receive(char* bytes, size_t size, size_t count, void* pointer) {
  Transfer& transfer = *static_cast<Transfer*>(pointer);
  try {
    transfer.target.write({bytes, size * count});
    transfer.digest.update(bytes, size * count);
    transfer.received += static_cast<int64_t>(size * count);
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

int show(void* pointer, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  // The bar counts thousandths because the total is not known before the first bytes arrive.
  if (total > 0) static_cast<Transfer*>(pointer)->progress.update(done * 1000 / total, fmt::format("{:.1f} MB", done / 1e6));
  return 0;
}

void allow_only_http(CURL* handle, bool secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS,
                   static_cast<long>(secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

std::string reason_of(CURL* handle, CURLcode code, int64_t received) {
  if (code == CURLE_HTTP_RETURNED_ERROR) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return fmt::format("the server answered with HTTP status {}", status);
  }
  if (code == CURLE_PARTIAL_FILE) return fmt::format("the connection ended after {} bytes, before the end of the file", received);
  return curl_easy_strerror(code);
}

// Streams the address into `target` (not committed) and returns the content's hash.
std::string download(const std::string& address, const std::string& title, AtomicFile& target, const FetchOptions& options) {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(ready ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!handle) throw std::runtime_error("libcurl could not be started");
  Progress progress(title, 1000);
  Transfer transfer{.target = target, .digest = {}, .progress = progress, .received = 0, .failure = nullptr};
  curl_easy_setopt(handle.get(), CURLOPT_URL, address.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(handle.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, "l0gm");
  curl_easy_setopt(handle.get(), CURLOPT_CONNECTTIMEOUT, options.connect_timeout_s);
  curl_easy_setopt(handle.get(), CURLOPT_LOW_SPEED_LIMIT, 10L);
  curl_easy_setopt(handle.get(), CURLOPT_LOW_SPEED_TIME, options.stall_timeout_s);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, show);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &transfer);
  allow_only_http(handle.get(), lower(address).starts_with("https:"));
  const CURLcode code = curl_easy_perform(handle.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (code != CURLE_OK) {
    throw UserError(
        fmt::format("cannot fetch {}: {}. Nothing was kept; try again later, or put the file into a data folder by hand.",
                    address, reason_of(handle.get(), code, transfer.received)));
  }
  if (transfer.received == 0) throw UserError(fmt::format("cannot fetch {}: the answer was empty. Nothing was kept.", address));
  return transfer.digest.hex();
}

#else

std::string download(const std::string& address, const std::string&, AtomicFile&, const FetchOptions&) {
  throw UserError(
      fmt::format("cannot fetch {}: this build has no libcurl. Download the file by other means and put it into a data "
                  "folder, or build with libcurl.",
                  address));
}

#endif

std::string searched(const std::string& folder) {
  std::vector<std::string> places;
  for (const fs::path& place : data_folders(folder)) places.push_back(place.string());
  return places.empty() ? "nowhere (neither data.dir nor L0GM_DATA, XDG_CACHE_HOME or HOME is set)" : join(places, ", ");
}

fs::path set_aside(const fs::path& from, const fs::path& place) {
  const fs::path refused = with_suffix(place, ".refused");
  fs::rename(from, refused);
  return refused;
}

}  // namespace

FetchOptions FetchOptions::from_environment() {
  FetchOptions options;
  if (const char* mirror = std::getenv("L0GM_MIRROR")) options.mirror = mirror;
  return options;
}

bool can_fetch() {
#ifdef L0GM_HAS_CURL
  return true;
#else
  return false;
#endif
}

fs::path fetch_file(const CatalogueFile& file, const fs::path& folder, const FetchOptions& options) {
  const std::string address = address_of(file, options);
  if (address.empty()) throw UserError(fmt::format("{} has no public address. Put it into a data folder by hand.", file.path));
  const fs::path path = folder / file.path;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) throw UserError(fmt::format("cannot create the folder {}: {}.", path.parent_path().string(), error.message()));

  // The content is checked under a name unique to this process, so that `path` is complete and right whenever it exists.
  const fs::path unchecked = with_suffix(path, fmt::format(".unchecked-{}", ::getpid()));
  AtomicFile target(unchecked);
  const std::string found = download(address, file.path, target, options);
  const std::string recorded = file.sha256.empty() ? recorded_hash(path) : std::string();
  const std::string& wanted = file.sha256.empty() ? recorded : file.sha256;
  target.commit();
  if (!wanted.empty() && found != wanted) {
    const fs::path refused = set_aside(unchecked, path);
    throw UserError(
        fmt::format("{} was refused: the SHA-256 of what {} sent is {}, wanted is {} ({}). It was set aside as {}; look at it, "
                    "then try again or use another mirror (L0GM_MIRROR).",
                    file.path, address, found, wanted,
                    recorded.empty() ? "listed in the catalogue" : "recorded by the first fetch", refused.string()));
  }
  if (wanted.empty()) {
    write_file_atomically(with_suffix(path, ".sha256"), found + "  " + path.filename().string() + "\n");
    log_info(fmt::format("{}: the catalogue lists no SHA-256 for it; recorded {} for later fetches.", file.path, found));
  }
  fs::rename(unchecked, path);
  return path;
}

std::optional<fs::path> obtain_file(const CatalogueFile& file, const std::string& folder, const FetchOptions& options) {
  if (const auto found = find_data_file(data_folders(folder), file.spellings())) {
    check_content(file, *found);
    return found;
  }
  if (file.optional) return std::nullopt;
  if (file.address.empty() && options.mirror.empty()) {
    throw UserError(fmt::format("{} was not found and has no public address; searched: {}. Put it there by hand.", file.path,
                                searched(folder)));
  }
  try {
    log_info(fmt::format("fetching {} from {}", file.path, address_of(file, options)));
    return fetch_file(file, fetch_folder(folder), options);
  } catch (const UserError& failure) {
    throw UserError(
        fmt::format("{} was not found (searched: {}) and could not be fetched: {}", file.path, searched(folder), failure.what()));
  }
}

bool is_replaced(const CatalogueEntry& entry, const CatalogueFile& file, const std::string& folder) {
  const std::vector<fs::path> folders = data_folders(folder);
  return !file.unless.empty() && std::all_of(file.unless.begin(), file.unless.end(), [&](const std::string& path) {
    return find_data_file(folders, catalogue_file(entry, path).spellings()).has_value();
  });
}

std::vector<ObtainedFile> get_dataset(const CatalogueEntry& entry, const std::string& folder, const FetchOptions& options) {
  if (entry.files.empty()) {
    throw UserError(
        fmt::format("{} has no files to fetch: {}.", entry.name, entry.own ? "you bring them" : "it is made, not fetched"));
  }
  const fs::path target = fetch_folder(folder);
  std::error_code error;
  fs::create_directories(target, error);
  if (error) throw UserError(fmt::format("cannot create the data folder {}: {}.", target.string(), error.message()));
  std::vector<ObtainedFile> obtained;
  for (const CatalogueFile& file : entry.files) {
    const auto found = find_data_file(data_folders(folder), file.spellings());
    if (found && (file.sha256.empty() || content_sha256(file, *found) == file.sha256)) {
      obtained.push_back({*found, false});
      continue;
    }
    if (!found && (file.optional || is_replaced(entry, file, folder))) continue;
    if (found) {
      if (file.address.empty() && options.mirror.empty()) check_content(file, *found);  // cannot be fetched again: throws
      if (*found != target / file.path) check_content(file, *found);  // throws: files outside the fetch folder are not moved
      log_warning(fmt::format("{} is cut off or changed; set aside as {}", found->string(), set_aside(*found, *found).string()));
    }
    obtained.push_back({fetch_file(file, target, options), true});
  }
  return obtained;
}

}  // namespace l0gm
