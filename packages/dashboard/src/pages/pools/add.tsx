import { useSignal } from '@preact/signals'
import { callApi } from '../../api/client.js'
import type { WireMember } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { toast } from '../../components/toast.js'

/** The form that adds a member to a pool. */
export function AddMemberForm({ pool, onAdded }: { pool: string; onAdded: () => void }) {
  const errorText = useSignal('')
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const input = new FormData(form)
    const text = (name: string) => ((input.get(name) as string | null) ?? '').trim()
    const [id, region, weight] = [text('id'), text('region'), text('weight')]
    try {
      const member = await callApi<WireMember>('POST', `/pools/${encodeURIComponent(pool)}/members`, {
        body: {
          url: text('url'),
          ...(id && { id }),
          ...(region && { region }),
          ...(weight && { weight: Number(weight) }),
        },
      })
      errorText.value = ''
      form.reset()
      toast(`${member.id} was added to ${pool}.`)
      onAdded()
    } catch (error) {
      errorText.value = (error as Error).message
    }
  }
  return (
    <form
      class="filters"
      aria-label={`Add a member to ${pool}`}
      onSubmit={(event) => {
        event.preventDefault()
        void submit(event.currentTarget)
      }}
    >
      <label>
        URL of the new member
        <input name="url" type="text" required placeholder="http://proxy.example:8080" autocomplete="off" />
      </label>
      <label>
        Member ID
        <input name="id" type="text" placeholder="host and port" autocomplete="off" />
      </label>
      <label>
        Region
        <input name="region" type="text" autocomplete="off" />
      </label>
      <label>
        Weight
        <input name="weight" type="number" min="0" step="any" placeholder="1" />
      </label>
      <ActionButton type="submit" class="small">
        Add
      </ActionButton>
      {errorText.value !== '' && (
        <p class="problem" role="alert">
          {errorText.value}
        </p>
      )}
    </form>
  )
}
