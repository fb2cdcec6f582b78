#!/bin/sh
# Prints the name of an image for podman with what attacks are made of. It is made of this host's
# packages, once for each state of them: no registry is needed, and the C library is the one that
# codeteam was built for.
set -eu

packages='bash coreutils dash diffutils findutils git grep hostname libacl1 libattr1 libc-bin libc6
libcap2 libcap2-bin libcrypt1 libgcc-s1 libgmp10 libpcre2-8-0 libselinux1 libtinfo6 perl perl-base
sed tar util-linux zlib1g'

name=localhost/codeteam-test:$(dpkg-query -W $packages 2>/dev/null | cksum | cut -d' ' -f1)
exec 9>"${TMPDIR:-/tmp}/codeteam-test-image-$(id -u).lock"
flock 9
if [ -z "$(podman images --quiet "$name")" ]; then
    {
        # Packages may still say `/bin` where that is a link to `/usr/bin`.
        dpkg-query -L $packages 2>/dev/null |
            grep '^/' | grep -v '^/usr/share/' |
            sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#'
        find /bin /sbin /lib /lib64 -maxdepth 0 -type l
        find /usr/share/perl /usr/share/perl5 2>/dev/null
    } | sort -u | while IFS= read -r file; do
        if [ -e "$file" ] || [ -h "$file" ]; then printf '%s\n' "$file"; fi
    done | tar --create --directory=/ --no-recursion --absolute-names --numeric-owner --files-from=- |
        podman import --quiet - "$name" >/dev/null
fi
echo "$name"
