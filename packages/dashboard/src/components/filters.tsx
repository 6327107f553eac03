import type { ComponentChildren } from 'preact'
import { route, updateQuery } from '../route.js'

/** The filters of a list. Their values are in the URL. */
export function Filters({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <form class="filters" aria-label={label} onSubmit={(submit) => submit.preventDefault()}>
      {children}
    </form>
  )
}

export function TextFilter({
  name,
  label,
  placeholder,
}: {
  name: string
  label: string
  placeholder?: string
}) {
  return (
    <label>
      {label}
      <input
        type="search"
        placeholder={placeholder ?? ''}
        value={route.value.query[name] ?? ''}
        onChange={(change) => updateQuery({ [name]: change.currentTarget.value })}
      />
    </label>
  )
}

export function ChoiceFilter(props: {
  name: string
  label: string
  options: readonly (readonly [value: string, text: string])[]
}) {
  return (
    <label>
      {props.label}
      <select
        value={route.value.query[props.name] ?? ''}
        onChange={(change) => updateQuery({ [props.name]: change.currentTarget.value })}
      >
        {props.options.map(([value, text]) => (
          <option value={value} selected={value === (route.value.query[props.name] ?? '')}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
