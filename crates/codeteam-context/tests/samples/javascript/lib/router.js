'use strict'

const METHODS = ['get', 'post', 'put', 'delete']

/** Finds who answers a request. */
class Router {
  #routes = []
  static defaults = { strict: false }

  static {
    Object.freeze(Router.defaults)
  }

  handle = async (request, response) => {
    const route = this.#match(request.method, request.url)
    await route.handler(request, response)
  }

  constructor (options = {}) {
    this.options = { ...Router.defaults, ...options }
  }

  get size () {
    return this.#routes.length
  }

  #match (method, url) {
    return this.#routes.find((route) => route.method === method && route.url === url)
  }

  * [Symbol.iterator] () {
    yield * this.#routes
  }
}

Router.prototype.use = function use (handler) {
  this.handlers = [...(this.handlers || []), handler]
  return this
}

METHODS.forEach((method) => {
  Router.prototype[method] = function (url, handler) {
    return this.use({ method, url, handler })
  }
})

module.exports = Router
module.exports.METHODS = METHODS
