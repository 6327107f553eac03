import '../../style/policies.css'
import { useSignal } from '@preact/signals'
import { useQuery } from '../../api/use-query.js'
import { QueryView } from '../../components/basics.js'
import { useEvents } from '../../events/event-stream.js'
import { navigate, urlFor } from '../../route.js'
import { PolicyForm } from './form.js'
import { PolicyHistory } from './history.js'
import { loadNewPolicy, loadPolicy } from './load.js'

const BackLink = () => (
  <p>
    <a href="/policies">← All policies</a>
  </p>
)

/** The page of one policy: values, origins, schedule and history. The server validates changes while the user types. */
export function PolicyEditor({ id }: { id: string }) {
  const saved = useSignal(0)
  const loaded = useQuery(id, (signal) => loadPolicy(id, signal))
  useEvents((events) => {
    if (!events.some(({ event_type }) => event_type === 'config_reloaded')) return
    saved.value++
    loaded.reload()
  })
  return (
    <>
      <BackLink />
      <QueryView of={loaded}>
        {(latest) => (
          <PolicyForm
            key={id}
            latest={latest}
            onSaved={() => {
              saved.value++
              loaded.reload()
            }}
          />
        )}
      </QueryView>
      {loaded.data !== undefined && <PolicyHistory id={id} version={saved.value} />}
    </>
  )
}

/** The policy whose values a new policy gets. */
const DEFAULT_SOURCE = 'default'

/** The page of a new policy, with the default values or with those of the policy `source`. */
export function NewPolicyEditor({ source = DEFAULT_SOURCE, id }: { source?: string; id: string }) {
  const loaded = useQuery(source, (signal) => loadNewPolicy(source, signal))
  return (
    <>
      <BackLink />
      <QueryView of={loaded}>
        {({ found, existingIds }) => (
          <PolicyForm
            latest={found}
            creation={{ id, existingIds, source }}
            onSaved={(created) => navigate(urlFor('/policies', { id: created }), { replace: true })}
          />
        )}
      </QueryView>
    </>
  )
}
