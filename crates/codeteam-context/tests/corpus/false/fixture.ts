it('rejects', () => { login({ password: 'wrong-password', token: 'invalid-token-1' }); expect(err.code).toBe('auth/wrong-password'); });
const password = faker.internet.password({ length: 20 });
export type Auth = { password: string; token?: string; apiKey: string | undefined };
