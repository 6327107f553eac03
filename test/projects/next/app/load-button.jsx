'use client'

import { guard } from 'holdfast'
import { createFetch } from 'holdfast/http'
import { useState } from 'react'

const fetchOrders = createFetch({ retry: { maxAttempts: 2 } })
const clicks = guard({ timeout: { total: '5s' } })

export function LoadButton() {
  const [text, setText] = useState('not loaded')
  const load = () =>
    clicks.run(async () => {
      const response = await fetchOrders('/api/orders')
      setText(await response.text())
    })
  return (
    <button type="button" onClick={load}>
      {text}
    </button>
  )
}
