variable "db_password" { type = string, sensitive = true }
password = var.db_password2
secret_arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-a1B2c3"
secret = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-a1B2c3"
token = data.vault_generic_secret.app.data["token"]
master_password = random_password.db16.result
