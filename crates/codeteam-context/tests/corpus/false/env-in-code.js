const apiKey = process.env.OPENAI_API_KEY;
const token = process.env['GITHUB_TOKEN2'] ?? '';
const password = config.get('db.password');
const secret = await vault.read(`secret/data/${name}`);
const token = `${prefix}-${uuid4()}`;
headers: { Authorization: `Bearer ${token}` },
headers['x-api-key'] = apiKey2;
