curl -u "$USER:$PASSWORD" https://api.acme.dev
curl -u user:password https://api.acme.dev
curl --user ${LOGIN}:${TOKEN} https://api.acme.dev
curl -u ada https://api.acme.dev
git push -u origin main:release-candidate
libcurl -u is not an option of it: see the manual
curl -s https://acme.dev/install.sh | sudo -u deploy:deploy sh
