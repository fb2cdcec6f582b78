export const config = { apiKey: '⟦Kwt⟂75oEAbgzU⟂lSOKfCUQV⟂nJ9BYkwFi⟂Eq⟧', retries: 3 };
