vercel deploy --token ⟦94W⟂5ivFw7NzZ⟂Oz7CQfsEn⟂zFA⟧ --prod
