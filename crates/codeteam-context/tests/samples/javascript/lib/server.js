'use strict'

const http = require('http')
const Router = require('./router')

var defaults = {
  timeout: 1000,
  onError: function (error) {
    console.error(error)
    throw error
  },
  log (message) {
    console.log(message)
  }
}

function * ports (from) {
  for (let port = from; port < 65536; port++) yield port
}

function createServer (router, options) {
  const settings = Object.assign({}, defaults, options)
  function onRequest (request, response) {
    router.handle(request, response).catch(settings.onError)
  }
  return http.createServer(onRequest)
}

exports.createServer = createServer
exports.isRouter = (value) => value instanceof Router
exports.ports = ports
