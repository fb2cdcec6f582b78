read -rs -p 'password: ' password
token=$(cat /run/token1)
password="$1"
password=${2:-}
: "${TOKEN:?token: not set}"
echo "$password" | docker login --password-stdin -u "$user1"
PGPASSWORD=$DB_PASS2 psql
curl -u "$user:$password" https://x.dev
secret=`openssl rand -hex 32`
kubectl get secret app2 -o jsonpath='{.data.password}'
