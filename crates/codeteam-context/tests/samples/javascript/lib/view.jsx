import React, { useState } from 'react'
import * as server from './server.js'

export * from './router.js'
export { ports as range } from './server.js'

const Row = ({ route, onSelect }) => (
  <li onClick={() => onSelect(route)}>{route.url}</li>
)

export default function RouteList ({ routes }) {
  const [selected, setSelected] = useState(null)
  const choose = (route) => {
    setSelected(route)
  }
  return (
    <ul title={selected?.url}>
      {routes.map((route) => <Row key={route.url} route={route} onSelect={choose} />)}
    </ul>
  )
}

export const Empty = () => <RouteList routes={[]} />
export let count = 0, limit = 10
