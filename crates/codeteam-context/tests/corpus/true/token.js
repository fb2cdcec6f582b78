const accessToken = `⟦rTp⟂uL7dOJtGk⟂AkxkmPj6v⟂q5JdDQITC⟂rH4vP1⟧`;
