import type { Handler, Id, User } from './types'
import { Limits, Permission } from './types'

const registry = new Map<Id, User>()

function log(target: unknown, key: string) {
  console.log(target, key)
}

export abstract class Repository<K, V> {
  protected items = new Map<K, V>()
  abstract load(key: K): Promise<V>
  size(): number {
    return this.items.size
  }
}

@sealed
export class UserRepository extends Repository<Id, User> implements Iterable<User> {
  static instance?: UserRepository

  constructor(private readonly source: string, protected limit = Limits.users) {
    super()
  }

  load(key: Id): Promise<User>
  load(key: Id, fallback: User): Promise<User>
  @log
  async load(key: Id, fallback?: User): Promise<User> {
    const found = this.items.get(key) ?? fallback
    if (!found) throw new Error(`no user ${key}`)
    return found
  }

  private forget(key: Id): void {
    this.items.delete(key)
  }

  get first(): User | undefined {
    return this.items.values().next().value
  }

  [Symbol.iterator]() {
    return this.items.values()
  }
}

export const createUser: Handler<string, User> = async (name, { user }) => {
  if (!user.can(Permission.Write)) throw new Error('not allowed')
  return { id: `user-${registry.size}`, name } as User
}

function sealed(target: Function) {
  Object.seal(target)
}

export default class {
  run = () => {
    return registry.size
  }
}

export { registry as users }
