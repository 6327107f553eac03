import { sessionOf } from 'holdfast'
import { holdfast } from '../lib/holdfast.js'
import { LoadButton } from './load-button.jsx'

export const dynamic = 'force-dynamic'

export default async function Page() {
  const hf = await holdfast()
  let calls = 0
  const load = async () => {
    if (++calls < 3) throw new Error('connection lost')
    return `order after ${calls} calls`
  }
  const text = await hf.run('orders', load)
  const error = await hf.run('orders', () => Promise.reject(new Error('gone'))).catch((reason) => reason)
  return (
    <main>
      <p>{text}</p>
      <p>{`failed after ${sessionOf(error)?.attempts.length} attempts`}</p>
      <LoadButton />
    </main>
  )
}
