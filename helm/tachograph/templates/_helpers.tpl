{{- define "tachograph.name" -}}
{{- /* At most 53 characters, by Helm's own rule: every suffix fits. */ -}}
{{- .Release.Name -}}
{{- end -}}

{{- define "tachograph.labels" -}}
app.kubernetes.io/name: tachograph
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tachograph.selector" -}}
app.kubernetes.io/name: tachograph
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tachograph.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end -}}
{{- end -}}

{{- define "tachograph.serviceAccount" -}}
{{- default (ternary (include "tachograph.name" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- /* Where a URL's server listens. */ -}}
{{- define "tachograph.urlPort" -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host -}}
{{- if $port -}}{{ trimPrefix ":" $port }}{{- else -}}{{ ternary "443" "80" (eq $url.scheme "https") }}{{- end -}}
{{- end -}}

{{- define "tachograph.kafkaPorts" -}}
{{- $ports := list -}}
{{- range splitList "," .Values.kafka.bootstrap -}}
{{- $ports = append $ports (regexFind "[0-9]+$" (trim .)) -}}
{{- end -}}
{{- join "," (uniq $ports) -}}
{{- end -}}

{{- /* Arguments: the root and a list of ports. */ -}}
{{- define "tachograph.egressTo" -}}
{{- $root := index . 0 -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
- ports:
    {{- range uniq (index . 1) }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with $root.Values.networkPolicy.egressTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* The Pod Security Standard "restricted", and nothing of the root file system to write. */ -}}
{{- define "tachograph.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.runAsUser }}
runAsGroup: {{ .Values.runAsUser }}
fsGroup: {{ .Values.runAsUser }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "tachograph.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- /* What every pod has beside its containers. */ -}}
{{- define "tachograph.podBasics" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "tachograph.podSecurity" . | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "tachograph.kafkaEnv" -}}
- name: TACHO_KAFKA_BOOTSTRAP
  value: {{ .Values.kafka.bootstrap | quote }}
- name: TACHO_TOPIC_PREFIX
  value: {{ .Values.kafka.topicPrefix | quote }}
{{- if .Values.kafka.properties.existingSecret }}
- name: TACHO_KAFKA_CONFIG
  value: /etc/tachograph/kafka/kafka.properties
{{- end }}
- name: TACHO_HOME
  value: /var/lib/tachograph
{{- end -}}

{{- define "tachograph.env" -}}
{{ include "tachograph.kafkaEnv" . }}
{{- with .Values.registry.url }}
- name: TACHO_REGISTRY_URL
  value: {{ . | quote }}
{{- end }}
- name: TACHO_S3_URL
  value: {{ .Values.s3.url | quote }}
- name: TACHO_S3_BUCKET
  value: {{ .Values.s3.bucket | quote }}
- name: TACHO_S3_REGION
  value: {{ .Values.s3.region | quote }}
- name: TACHO_S3_ACCESS_KEY
  valueFrom:
    secretKeyRef: {name: {{ .Values.s3.existingSecret | quote }}, key: {{ .Values.s3.accessKeyKey | quote }}}
- name: TACHO_S3_SECRET_KEY
  valueFrom:
    secretKeyRef: {name: {{ .Values.s3.existingSecret | quote }}, key: {{ .Values.s3.secretKeyKey | quote }}}
- name: TACHO_REDIS_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.redis.existingSecret | quote }}, key: {{ .Values.redis.urlKey | quote }}}
{{- if .Values.digestKey.existingSecret }}
- name: TACHO_DIGEST_KEY_FILE
  value: /etc/tachograph/digest/digest.key
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tachograph.kafkaMounts" -}}
- name: scratch
  mountPath: /var/lib/tachograph
  subPath: home
- name: scratch
  mountPath: /tmp
  subPath: tmp
{{- if .Values.kafka.properties.existingSecret }}
- name: kafka
  mountPath: /etc/tachograph/kafka
  readOnly: true
{{- end }}
{{- end -}}

{{- define "tachograph.kafkaVolumes" -}}
- name: scratch
  emptyDir: {sizeLimit: {{ .Values.scratchSize | quote }}}
{{- with .Values.kafka.properties }}
{{- if .existingSecret }}
- name: kafka
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items: [{key: {{ .key | quote }}, path: kafka.properties}]
{{- end }}
{{- end }}
{{- end -}}
