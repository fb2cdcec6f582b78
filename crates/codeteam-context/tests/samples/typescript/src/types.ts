// Copyright of nobody.

/** Who may do what. */
export enum Permission {
  Read = 'read',
  Write = 'write',
}

export type Id<T extends string = string> = `${T}-${number}`

/**
 * Somebody.
 *
 * Users are made by `createUser`.
 */
export interface User extends Named {
  <T>(argument: T): T
  readonly id: Id<'user'>
  permissions?: Permission[]
  can(permission: Permission): boolean
}

interface Named {
  name: string
}

export type Handler<In, Out> = (
  input: In,
  // What else is known.
  context: { user: User; signal?: AbortSignal },
) => Promise<Out>

export declare function nativeHash(text: string): number

declare global {
  interface Window {
    app: unknown
  }
}

export namespace Limits {
  export const users = 100
  export function exceeded(count: number): boolean {
    return count > users
  }
}
