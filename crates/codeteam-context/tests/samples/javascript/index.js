#!/usr/bin/env node
'use strict'

const { createServer } = require('./lib/server')
const Router = require('./lib/router')

/**
 * Starts it.
 *
 * @param {number} port
 */
async function main (port = 3000) {
  const router = new Router({ strict: true })
  router.get('/', (request, response) => {
    response.end('hello')
  })
  const server = createServer(router)
  server.listen(port)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
