import { createUser, UserRepository } from './users'
import type { User } from './types'

type Props = { repository: UserRepository; onCreate?: (user: User) => void }

export function UserPage({ repository, onCreate }: Props) {
  const add = async () => {
    const user = await createUser('new', { user: repository.first! })
    onCreate?.(user)
  }
  return <button onClick={add}>{repository.size()}</button>
}

export const Title = <T extends { name: string }>({ of }: { of: T }) => <h1>{of.name}</h1>
